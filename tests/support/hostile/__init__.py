"""What goes wrong on purpose: attackers, full disks, broken connections."""

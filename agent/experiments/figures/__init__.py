"""What a comparison shows: its table and its verdict, and the statistics behind them."""

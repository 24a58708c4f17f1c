// The login page needs a script for the theme only.

import { follow } from "../core/theme.js";

follow();

// The login page needs a script for the theme only.

import { followTheme } from "../core/theme.js";

followTheme();

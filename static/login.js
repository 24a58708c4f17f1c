// The page that asks for name and password: only its colours need a script.

import { follow } from "./theme.js";

follow();

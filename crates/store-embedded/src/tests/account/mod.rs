mod log;

use super::Site;

mod hot;
mod listing;
mod order;

use super::{Site, hot_list, inbox, listed, order_rows, scene};

//! Every metric name, label set and bucket list.

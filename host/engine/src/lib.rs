//! Longhaul.

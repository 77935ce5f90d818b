//! Plots of odd runs.

//! A tool that destroys the user's repository or configuration.

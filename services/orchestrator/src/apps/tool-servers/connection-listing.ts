/** Job that lists the tools of an account that a user has just connected. */
export const CONNECTION_LISTING_JOB = 'tool_connection_listing';

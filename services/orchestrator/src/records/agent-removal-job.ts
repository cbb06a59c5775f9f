/** Ends what a deleted agent has begun. Its subject is the agent. */
export const AGENT_REMOVAL_JOB = 'agent-removal';

/** The agent that a tab is about. */
export interface AgentProps {
  workspaceId: string;
  agentId: string;
  name: string;
}

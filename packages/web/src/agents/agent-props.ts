export interface AgentProps {
  workspaceId: string;
  agentId: string;
  name: string;
}

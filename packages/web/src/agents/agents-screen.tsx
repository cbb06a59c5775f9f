import { EmptyState } from '../ui/parts.js';

export function AgentsScreen(_: { workspaceId: string }) {
  return <EmptyState icon="agents" title="Agents" />;
}

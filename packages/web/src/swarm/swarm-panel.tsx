import { EmptyState } from '../ui/parts.js';

export function SwarmPanel(_: { workspaceId: string; conversationId: string }) {
  return <EmptyState icon="swarm" title="Swarm" />;
}

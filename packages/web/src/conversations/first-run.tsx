import { EmptyState } from '../ui/parts.js';

export function FirstRun(_: { workspaceId: string }) {
  return <EmptyState icon="chat" title="What should the swarm do?" />;
}

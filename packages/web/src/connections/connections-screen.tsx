import { EmptyState } from '../ui/parts.js';

export function ConnectionsScreen(_: { workspaceId: string }) {
  return <EmptyState icon="link" title="Connections" />;
}

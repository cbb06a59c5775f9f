import { EmptyState } from '../ui/parts.js';

export function ArtifactPanel(_: { workspaceId: string; conversationId: string }) {
  return <EmptyState icon="document" title="Document" />;
}

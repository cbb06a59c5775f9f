import { EmptyState } from '../ui/parts.js';

export function TimelinePanel(_: { workspaceId: string; conversationId: string }) {
  return <EmptyState icon="clock" title="Timeline" />;
}

import { EmptyState } from '../ui/parts.js';

export function UsageScreen(_: { workspaceId: string }) {
  return <EmptyState icon="chart" title="Usage" />;
}

import { EmptyState } from '../ui/parts.js';

export function ReceiptsScreen(_: { workspaceId: string }) {
  return <EmptyState icon="receipt" title="Receipts" />;
}

import { EmptyState } from '../ui/parts.js';

export function LegalScreen({ document }: { document: string }) {
  return <EmptyState icon="document" title={document} />;
}

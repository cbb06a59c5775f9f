import { EmptyState } from '../ui/parts.js';

export function WaitingScreen() {
  return <EmptyState icon="bell" title="Nothing waits for you" />;
}

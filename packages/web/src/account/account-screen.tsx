import { EmptyState } from '../ui/parts.js';

export function AccountScreen() {
  return <EmptyState icon="user" title="Account" />;
}

import { isConflict, isNotFound, type KubeClient, type ObjectName } from '@uswarm/kube-client';
import { LEASES } from '../resources.js';

/**
 * Deletes a removed controller's Lease. Its RBAC rules were deleted before its pods stopped, so it could not release
 * the Lease, and the next installation would wait until the Lease expires.
 */
export async function deleteLease(
  client: Pick<KubeClient, 'get' | 'delete'>,
  name: ObjectName,
  signal: AbortSignal,
): Promise<void> {
  try {
    const { metadata } = await client.get(LEASES, name, signal);
    await client.delete(LEASES, name, { uid: metadata.uid ?? '', propagation: 'Background' }, signal);
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

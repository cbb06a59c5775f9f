import { ApiError } from '@uswarm/contract';
import { isSecureUrl } from '@uswarm/service-kit';
import { mayBePublic } from '@uswarm/service-kit/outgoing';

/**
 * Checks a browser subscription's endpoint, which users name. Its address is checked again when a notification is sent.
 *
 * @param privateHosts hosts inside the network that operators allow
 * @throws ApiError `validation_failed`
 */
export function requirePushEndpoint(endpoint: string, privateHosts: readonly string[]): void {
  const message = problemOf(endpoint, privateHosts);
  if (message !== undefined)
    throw new ApiError('validation_failed', { extra: { fields: [{ path: 'push_token', message }] } });
}

function problemOf(endpoint: string, privateHosts: readonly string[]): string | undefined {
  const url = URL.parse(endpoint);
  if (url === null) return 'must be the URL of a push service';
  const isAllowed = privateHosts.includes(url.hostname);
  if (url.protocol !== 'https:' && !(isAllowed && isSecureUrl(endpoint))) return 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not contain credentials';
  return isAllowed || mayBePublic(url.hostname) ? undefined : 'must be a server on the internet';
}

import { type AdminAnswer, type AdminBody, type AdminCall, adminPath } from '@uswarm/contract';
import { parseSigningKey, signAdminToken } from '@uswarm/service-kit';
import type { SeparateServices } from './separate.js';

export const ADMIN_KEY = 'operators:a-key-for-the-operators-of-the-tests';

/** Calls the admin API of services with `ADMIN_API_KEY`. @throws Error for a refusal */
export async function adminCall<Call extends AdminCall>(
  { internal }: Pick<SeparateServices, 'internal'>,
  call: Call,
  body: AdminBody<Call>,
): Promise<AdminAnswer<Call>> {
  const token = await signAdminToken(parseSigningKey(ADMIN_KEY), 'olivia');
  const answer = await fetch(`${internal.url}${adminPath(call)}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${call} was answered with ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as AdminAnswer<Call>;
}

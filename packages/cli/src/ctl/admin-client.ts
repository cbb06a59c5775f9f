import { ADMIN_CALLS, type AdminAnswer, type AdminCall, adminPath, ErrorBody } from '@uswarm/contract';
import { signAdminToken } from '@uswarm/service-kit';
import type { z } from 'zod';
import { Failure } from '../failure.js';
import type { HttpClient } from '../http-client.js';
import type { Connection } from './connection.js';

export interface AdminClient {
  /** @throws Failure with what the orchestrator says, or why it cannot be asked */
  call<Call extends AdminCall>(
    call: Call,
    body: z.input<(typeof ADMIN_CALLS)[Call]['body']>,
  ): Promise<AdminAnswer<Call>>;
}

export function createAdminClient({ url, key, operator }: Connection, http: Pick<HttpClient, 'send'>): AdminClient {
  return {
    async call(call, body) {
      const checked = ADMIN_CALLS[call].body.safeParse(body);
      if (!checked.success) throw new Failure(sentence(checked.error));
      const token = await signAdminToken(key, operator);
      const headers = { authorization: `Bearer ${token}` };
      const answer = await http
        .send({ method: 'POST', url: `${url}${adminPath(call)}`, headers, json: checked.data })
        .catch((cause: unknown) => {
          throw unreachable(cause, url);
        });
      if (answer.status !== 200) throw refusal(answer.status, answer.body, url);
      const parsed = ADMIN_CALLS[call].answer.safeParse(answer.body);
      if (!parsed.success) throw new Failure(`What answers at ${url} is another version of uswarm.`);
      return parsed.data as AdminAnswer<typeof call>;
    },
  };
}

function sentence({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n');
}

function unreachable(cause: unknown, url: string): unknown {
  const code = cause instanceof Failure ? (cause.cause as { code?: unknown } | undefined)?.code : undefined;
  if (code !== 'ECONNREFUSED') return cause;
  return new Failure(`Nothing answers at ${url}. That should be the internal port of the orchestrator.`, { cause });
}

function refusal(status: number, body: unknown, url: string): Failure {
  const parsed = ErrorBody.safeParse(body);
  if (!parsed.success) return new Failure(`What answers at ${url} is not the internal API (status ${status}).`);
  const { code, message, extra } = parsed.data;
  if (code === 'token_invalid')
    return new Failure(
      'The key does not open this orchestrator, or is bound to another operator than --as says (or a clock is far off).',
    );
  if (code === 'route_not_found') {
    return new Failure('This orchestrator has no key for operators: it starts without ADMIN_API_KEYS.');
  }
  if (code === 'service_unavailable' || code === 'internal_error') {
    return new Failure(`${message} (${code}, request ${extra?.request_id ?? 'unknown'})`);
  }
  return new Failure(message);
}

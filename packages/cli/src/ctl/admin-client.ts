import { ADMIN_CALLS, type AdminAnswer, type AdminCall, adminPath, ErrorBody } from '@uswarm/contract';
import { signAdminToken } from '@uswarm/service-kit';
import type { z } from 'zod';
import { Failure } from '../failure.js';
import type { HttpClient } from '../http-client.js';
import type { Connection } from './connection.js';

export interface AdminClient {
  /** @throws Failure with the orchestrator's or the connection's error */
  call<Call extends AdminCall>(
    call: Call,
    body: z.input<(typeof ADMIN_CALLS)[Call]['body']>,
  ): Promise<AdminAnswer<Call>>;
}

export function createAdminClient(connection: Connection, http: Pick<HttpClient, 'send'>): AdminClient {
  const { url } = connection;
  const isPerson = 'token' in connection;
  return {
    async call(call, body) {
      const checked = ADMIN_CALLS[call].body.safeParse(body);
      if (!checked.success) throw new Failure(issuesText(checked.error));
      const token = isPerson ? connection.token : await signAdminToken(connection.key, connection.operator);
      const headers = { authorization: `Bearer ${token}` };
      const response = await http
        .send({ method: 'POST', url: `${url}${adminPath(call)}`, headers, json: checked.data })
        .catch((cause: unknown) => {
          throw unreachable(cause, url);
        });
      if (response.status !== 200) throw errorOf(response.status, response.body, url, isPerson);
      const parsed = ADMIN_CALLS[call].answer.safeParse(response.body);
      if (!parsed.success) throw new Failure(`Server version mismatch: the response of ${url} is invalid.`);
      return parsed.data as AdminAnswer<typeof call>;
    },
  };
}

function issuesText({ issues }: z.ZodError): string {
  return issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('\n');
}

function unreachable(cause: unknown, url: string): unknown {
  const code = cause instanceof Failure ? (cause.cause as { code?: unknown } | undefined)?.code : undefined;
  if (code !== 'ECONNREFUSED') return cause;
  return new Failure(`${url} refused the connection. The URL must be that of the internal API of the orchestrator.`, {
    cause,
  });
}

const KEY_REJECTED =
  'Authentication failed: key rejected. Check the key, that --as is the operator of the key, and the clocks.';
const TOKEN_REJECTED =
  'Authentication failed: token rejected. Check that its issuer and audience are in operators.issuers, and the clocks.';

function errorOf(status: number, body: unknown, url: string, isPerson: boolean): Failure {
  const parsed = ErrorBody.safeParse(body);
  if (!parsed.success) return new Failure(`${url} is not the internal API (status ${status}).`);
  const { code, message, extra } = parsed.data;
  if (code === 'token_invalid') return new Failure(isPerson ? TOKEN_REJECTED : KEY_REJECTED);
  if (code === 'token_expired') return new Failure('The token has expired: sign in again.');
  if (code === 'route_not_found') {
    return new Failure(
      'The administration API is disabled: neither ADMIN_API_KEYS nor OPERATOR_ISSUERS of the orchestrator is set.',
    );
  }
  if (code === 'service_unavailable' || code === 'internal_error') {
    return new Failure(`${message} (${code}, request ${extra?.request_id ?? 'unknown'})`);
  }
  return new Failure(message);
}

import { ADMIN_CALLS, type AdminAnswer, type AdminBody, type AdminCall, adminPath } from '@uswarm/contract';
import { parseSigningKey, signAdminToken } from '@uswarm/service-kit';
import { HarnessError, type LocalProgram } from './local-program.js';

export interface Operator {
  call<Call extends AdminCall>(call: Call, body: AdminBody<Call>): Promise<AdminAnswer<Call>>;
}

/** A client for operator routes. */
export function createOperator({ url, key }: LocalProgram['admin']): Operator {
  return {
    async call(call, body) {
      const token = await signAdminToken(parseSigningKey(key), 'evals');
      const response = await fetch(`${url}${adminPath(call)}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      if (response.status !== 200) throw new HarnessError(`${call} returned ${response.status}: ${text}`);
      return ADMIN_CALLS[call].answer.parse(JSON.parse(text)) as never;
    },
  };
}

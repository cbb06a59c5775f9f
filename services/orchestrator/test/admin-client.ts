import { ADMIN_CALLS, type AdminAnswer, type AdminCall, adminPath, ErrorBody } from '@uswarm/contract';
import { parseSigningKey, signAdminToken } from '@uswarm/service-kit';
import { request } from 'undici';
import type { z } from 'zod';
import type { TestOrchestrator } from './test-orchestrator.js';

export const ADMIN_KEY = 'operators:a-key-for-the-operators-of-the-tests';

export interface TestAdmin {
  call<Call extends AdminCall>(
    call: Call,
    body: z.input<(typeof ADMIN_CALLS)[Call]['body']>,
    token?: string,
  ): Promise<AdminAnswer<Call>>;
  /** @returns the error code @throws Error if the call succeeds */
  refusal(call: string, body: unknown, token?: string): Promise<string>;
}

/** Calls the admin API as `uswarmctl` does and checks each response against its schema. */
export function createTestAdmin({ internalUrl }: TestOrchestrator, operator = 'olivia'): TestAdmin {
  async function send(call: string, body: unknown, token?: string) {
    const bearer = token ?? (await signAdminToken(parseSigningKey(ADMIN_KEY), operator));
    const answer = await request(`${internalUrl}${adminPath(call as AdminCall)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(bearer === '' ? {} : { authorization: `Bearer ${bearer}` }) },
      body: JSON.stringify(body),
    });
    return { status: answer.statusCode, body: await answer.body.json() };
  }
  return {
    async call(call, body, token) {
      const answer = await send(call, body, token);
      if (answer.status !== 200) throw new Error(`${call} returned ${answer.status}: ${JSON.stringify(answer.body)}`);
      return ADMIN_CALLS[call].answer.strict().parse(answer.body) as AdminAnswer<typeof call>;
    },
    async refusal(call, body, token) {
      const answer = await send(call, body, token);
      if (answer.status < 400) throw new Error(`${call} was not rejected: ${JSON.stringify(answer.body)}`);
      return ErrorBody.parse(answer.body).code;
    },
  };
}

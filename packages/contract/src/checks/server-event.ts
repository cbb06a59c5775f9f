import { z } from 'zod';
import { SERVER_EVENTS } from '../events/server.js';

/**
 * Checks an event that a client received against the contract.
 * @throws Error if the event is unknown or its payload does not match the contract
 */
export function checkServerEvent(name: string, payload: unknown): void {
  if (!Object.hasOwn(SERVER_EVENTS, name)) throw new Error(`The event ${name} is not documented`);
  const { payload: schema } = SERVER_EVENTS[name as keyof typeof SERVER_EVENTS];
  const parsed = schema.safeParse(payload);
  if (!parsed.success) {
    throw new Error(
      `The payload of ${name} is not the documented one: ${z.prettifyError(parsed.error)}\n${JSON.stringify(payload)}`,
    );
  }
}

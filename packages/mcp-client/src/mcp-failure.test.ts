import { SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { describe, expect, it } from '@jest/globals';
import { toFailure } from './mcp-failure.js';

/** As servers send them. */
const errorWith = (message: string): string => JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message } });

function failureOf(status: number, text: string) {
  const data = { status, statusText: '', text };
  return toFailure(
    new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `Error POSTing to endpoint: ${text}`, data),
    {},
  );
}

describe('the failure for an HTTP error', () => {
  it.each([
    errorWith('Bad Request: No valid session ID provided'),
    errorWith('Session not found'),
    errorWith("Session 'c0ffee' has expired"),
    errorWith('Unknown session'),
    errorWith('Unknown sessionId'),
    errorWith('Bad Request: Server not initialized'),
    'Invalid or missing session ID',
  ])('needs a new connection and was not executed if status 400 is for an unknown session: %s', (text) => {
    expect(failureOf(400, text)).toMatchObject({ disconnected: true, outcomeUnknown: false });
  });

  it.each([
    '',
    errorWith('Bad Request: Unsupported protocol version'),
    errorWith('The session parameter is required'),
    errorWith('Invalid params: session_name is too long'),
    errorWith('Parse error'),
  ])('keeps the connection after another status 400: %s', (text) => {
    expect(failureOf(400, text)).toMatchObject({ disconnected: false, outcomeUnknown: false });
  });

  it('has an unknown outcome after status 500, whatever its message about the session', () => {
    const failure = failureOf(500, errorWith('Session not found'));
    expect(failure).toMatchObject({ disconnected: false, outcomeUnknown: true });
  });
});

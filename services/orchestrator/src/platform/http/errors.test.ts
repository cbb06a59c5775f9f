import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import { createLogger, runInContext } from '@uswarm/service-kit';
import type { Request, Response } from 'express';
import { createErrorHandler, errorBody, toApiError } from './errors.js';

const withCode = (code: string) => Object.assign(new Error('x'), { code });

describe('toApiError', () => {
  it('returns an ApiError unchanged', () => {
    const error = new ApiError('agent_not_found');
    expect(toApiError(error)).toBe(error);
  });

  it.each([
    ['a refused connection', withCode('ECONNREFUSED')],
    ['a Postgres shutdown', withCode('57P01')],
    ['a statement that took too long', withCode('57014')],
    ['a deadlock', withCode('40P01')],
    ['a server that became a standby', withCode('25006')],
    ['a transaction that idled for too long', withCode('25P03')],
    ['a connection that a pooler lost', withCode('08P01')],
    ['a connection that ended', new Error('Connection terminated unexpectedly')],
    ['a broken connection', new Error('Client has encountered a connection error and is not queryable')],
    ['a closed client', new Error('Client was closed and is not queryable')],
    ['a statement without a response', new Error('Query read timeout')],
    ['an exhausted pool', new Error('timeout exceeded when trying to connect')],
  ])('maps %s to service_unavailable', (_what, error) => {
    expect(toApiError(error)).toMatchObject({ code: 'service_unavailable', retryable: true, cause: error });
  });

  it.each([
    ['legal_acceptances_user_id_fkey', 'user_deleted'],
    ['workspaces_owner_id_fkey', 'user_deleted'],
    ['artifacts_workspace_id_fkey', 'workspace_not_found'],
    ['workflows_conversation_id_fkey', 'conversation_not_found'],
    ['agent_memories_agent_id_fkey', 'agent_not_found'],
    ['message_attachments_upload_id_fkey', 'internal_error'],
  ])('maps a violation of the foreign key %s to %s', (constraint, code) => {
    expect(toApiError(Object.assign(withCode('23503'), { constraint })).code).toBe(code);
  });

  it.each([new Error('a bug'), withCode('23503'), withCode('23505'), 'a text', undefined, null, 7])(
    'maps %p to internal_error',
    (thrown) => {
      expect(toApiError(thrown).code).toBe('internal_error');
    },
  );

  it.each([
    ['entity.parse.failed', 'malformed_json'],
    ['entity.too.large', 'payload_too_large'],
    ['encoding.unsupported', 'unsupported_media_type'],
    ['charset.unsupported', 'unsupported_media_type'],
    ['request.size.invalid', 'malformed_json'],
  ])('maps %s of the body parser to %s', (type, code) => {
    expect(toApiError(Object.assign(new Error('x'), { type })).code).toBe(code);
  });
});

describe('errorBody', () => {
  it('returns message, code and extra with the request id', () => {
    const error = new ApiError('rate_limited', { extra: { retry_after_ms: 5 } });
    expect(runInContext({ requestId: 'r-1' }, () => errorBody(error))).toEqual({
      message: 'Too many requests.',
      code: 'rate_limited',
      extra: { retry_after_ms: 5, request_id: 'r-1' },
    });
  });
});

describe('the error handler', () => {
  const logged = (thrown: unknown): unknown[] => {
    const lines: unknown[] = [];
    const destination = { write: (line: string) => void lines.push(JSON.parse(line)) };
    const response = { locals: {}, status: () => response, json: () => response };
    const handle = createErrorHandler(createLogger({ service: 'test', destination }));
    void handle(thrown, {} as Request, response as unknown as Response, () => undefined);
    return lines;
  };

  it('logs a row that refers to a deleted one, because a wrong id of our own has the same error', () => {
    const violation = Object.assign(withCode('23503'), { constraint: 'artifacts_workspace_id_fkey' });
    expect(logged(violation)).toEqual([
      expect.objectContaining({
        level: 'warn',
        code: 'workspace_not_found',
        err: expect.objectContaining({ constraint: 'artifacts_workspace_id_fkey' }),
      }),
    ]);
  });

  it('does not log other errors of clients', () => {
    expect(logged(new ApiError('workspace_not_found'))).toEqual([]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ApiError, ErrorBody, ERRORS, validationError, type ErrorCode } from './errors.js';
import { commonErrors, GATEWAY_ROUTES, ROUTES, type RouteDefinition } from './routes/index.js';

const codes = Object.keys(ERRORS) as ErrorCode[];

describe('the error catalogue', () => {
  it.each(codes)('has a snake_case code, an HTTP error status and a message for %s', (code) => {
    const { status, message } = ERRORS[code];
    expect(code).toMatch(/^[a-z]+(_[a-z0-9]+)*$/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThanOrEqual(599);
    expect(message).toMatch(/^[A-Zr].*\.$/);
  });

  it.each(codes.filter((code) => ERRORS[code].retryable))(
    'marks %s as retryable only with a status that can pass',
    (code) => {
      expect([408, 429, 500, 503]).toContain(ERRORS[code].status);
    },
  );

  it('lists each code once per route', () => {
    const routes: readonly RouteDefinition[] = [...ROUTES, ...GATEWAY_ROUTES];
    for (const route of routes) {
      const own = route.errors ?? [];
      expect(new Set(own).size).toBe(own.length);
    }
  });

  it('documents every code on a route, except codes of unknown paths, operators, events and trigger URLs', () => {
    const routes: readonly RouteDefinition[] = [...ROUTES, ...GATEWAY_ROUTES];
    const documented = new Set(routes.flatMap((route) => [...commonErrors(route), ...(route.errors ?? [])]));
    const elsewhere: ErrorCode[] = [
      'route_not_found',
      'session_user_mismatch',
      'method_not_allowed',
      'operator_not_allowed',
      'subscription_limit_reached',
      'trigger_paused',
      'trigger_queue_full',
      'trigger_signature_invalid',
    ];
    expect(codes.filter((code) => !documented.has(code)).toSorted()).toEqual(elsewhere.toSorted());
  });
});

describe('ErrorBody', () => {
  it('has message, code and extra, and extra may be null', () => {
    expect(ErrorBody.safeParse({ message: 'No.', code: 'token_missing', extra: null }).success).toBe(true);
    expect(ErrorBody.safeParse({ message: 'No.', code: 'token_missing' }).success).toBe(false);
    expect(ErrorBody.safeParse({ message: 'No.', code: 'no_such_code', extra: null }).success).toBe(false);
  });

  it('allows more fields in extra, but requires request_id', () => {
    const body = (extra: object) => ErrorBody.safeParse({ message: 'No.', code: 'rate_limited', extra });
    expect(body({ request_id: 'r', retry_after_ms: 10, limit: 'sends' }).success).toBe(true);
    expect(body({ retry_after_ms: 10 }).success).toBe(false);
  });
});

describe('ApiError', () => {
  it('takes status, retryability and message from the catalogue', () => {
    const error = new ApiError('rate_limited');
    expect(error).toMatchObject({ status: 429, retryable: true, message: ERRORS.rate_limited.message });
  });

  it('keeps its cause and a custom message', () => {
    const cause = new Error('socket hang up');
    const error = new ApiError('service_unavailable', { message: 'No database.', cause });
    expect(error).toMatchObject({ message: 'No database.', cause });
  });

  it('lists a failed parse as one dotted path per field', () => {
    const parsed = z.object({ content: z.object({ type: z.string() }) }).safeParse({ content: {} });
    expect(validationError(parsed.error!).extra).toEqual({
      fields: [{ path: 'content.type', message: expect.any(String) }],
    });
  });
});

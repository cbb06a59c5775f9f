import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ApiError, ErrorBody, ERRORS, validationError, type ErrorCode } from './errors.js';
import { commonErrors, ROUTES, type RouteDefinition } from './routes/index.js';

const codes = Object.keys(ERRORS) as ErrorCode[];

describe('the error catalogue', () => {
  it.each(codes)('gives %s a snake_case name, an HTTP error status and a sentence', (code) => {
    const { status, message } = ERRORS[code];
    expect(code).toMatch(/^[a-z]+(_[a-z0-9]+)*$/);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(status).toBeLessThanOrEqual(599);
    expect(message).toMatch(/^[A-Zr].*\.$/);
  });

  it.each(codes.filter((code) => ERRORS[code].retryable))('lets %s be retried only where waiting can help', (code) => {
    expect([408, 429, 500, 503]).toContain(ERRORS[code].status);
  });

  it('names no code twice on one route', () => {
    const routes: readonly RouteDefinition[] = ROUTES;
    for (const route of routes) {
      const own = route.errors ?? [];
      expect(new Set(own).size).toBe(own.length);
    }
  });

  it('documents every code on a route, or for paths and events that are none', () => {
    const routes: readonly RouteDefinition[] = ROUTES;
    const documented = new Set(routes.flatMap((route) => [...commonErrors(route), ...(route.errors ?? [])]));
    const elsewhere: ErrorCode[] = [
      'route_not_found',
      'method_not_allowed',
      'operator_not_allowed',
      'subscription_limit_reached',
    ];
    expect(codes.filter((code) => !documented.has(code)).toSorted()).toEqual(elsewhere.toSorted());
  });
});

describe('an error body', () => {
  it('is message, code and extra, where extra may be null', () => {
    expect(ErrorBody.safeParse({ message: 'No.', code: 'token_missing', extra: null }).success).toBe(true);
    expect(ErrorBody.safeParse({ message: 'No.', code: 'token_missing' }).success).toBe(false);
    expect(ErrorBody.safeParse({ message: 'No.', code: 'no_such_code', extra: null }).success).toBe(false);
  });

  it('may say more in extra, but always names the request', () => {
    const body = (extra: object) => ErrorBody.safeParse({ message: 'No.', code: 'rate_limited', extra });
    expect(body({ request_id: 'r', retry_after_ms: 10, limit: 'sends' }).success).toBe(true);
    expect(body({ retry_after_ms: 10 }).success).toBe(false);
  });
});

describe('ApiError', () => {
  it('takes status, retryability and sentence from the catalogue', () => {
    const error = new ApiError('rate_limited');
    expect([error.status, error.retryable, error.message]).toEqual([429, true, ERRORS.rate_limited.message]);
  });

  it('keeps the cause and a sentence of its own', () => {
    const cause = new Error('socket hang up');
    const error = new ApiError('service_unavailable', { message: 'No database.', cause });
    expect([error.message, error.cause]).toEqual(['No database.', cause]);
  });

  it('is made from a failed parse with one dotted path a field', () => {
    const parsed = z.object({ content: z.object({ type: z.string() }) }).safeParse({ content: {} });
    expect(validationError(parsed.error!).extra).toEqual({
      fields: [{ path: 'content.type', message: expect.any(String) }],
    });
  });
});

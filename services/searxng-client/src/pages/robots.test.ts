import { describe, expect, it } from '@jest/globals';
import { Readable } from 'node:stream';
import type { PageRequestRules } from './page-request.js';
import { boundedRules, createRobots } from './robots.js';

/** True if the robots file allows the path. */
async function allows(file: string, path: string): Promise<boolean> {
  const request = () => Promise.resolve({ statusCode: 200, headers: {}, body: Readable.from([Buffer.from(file)]) });
  const outgoing = { request } as unknown as PageRequestRules['outgoing'];
  const robots = createRobots({ outgoing, privateHosts: [] });
  return robots.check(new URL(path, 'https://example.org'), AbortSignal.timeout(30_000)).then(
    () => true,
    () => false,
  );
}

describe('a robots file', () => {
  it.each([
    ['all agents', 'User-agent: *\nDisallow: /a', false],
    ['our agent in a group with others', 'user-agent: x\nUser-Agent: uswarm-page-reader/1\nDisallow: /a # no', false],
    ['another agent', 'User-agent: x\nDisallow: /a', true],
    [
      'our agent, which may do everything',
      'User-agent: *\nDisallow: /\n\nUser-agent: uswarm-page-reader\nDisallow:',
      true,
    ],
    [
      'all agents in two groups',
      'User-agent: *\nDisallow: /b\nUser-agent: x\nAllow: /\nUser-agent: *\nDisallow: /a',
      false,
    ],
    ['all agents, with an exception', 'User-agent: *\nDisallow: /\nAllow: /a$', true],
    ['all agents, in another script', 'User-agent: *\nDisallow: /\u0447\u0430\u0439', true],
    ['no agent', 'Disallow: /a', true],
  ])('has rules for %s', async (_, file, expected) => {
    expect(await allows(file, '/a')).toBe(expected);
  });

  it('has no rules of more than 500 characters, and only the first 64 KiB of them', async () => {
    const long = `User-agent: *\nDisallow: /a${'*'.repeat(500)}`;
    expect(await allows(long, '/a')).toBe(true);
    const rule = `Disallow: /${'b'.repeat(399)}\n`;
    const many = (count: number) => `User-agent: *\n${rule.repeat(count)}Disallow: /a`;
    expect(await allows(many(100), '/a')).toBe(false);
    expect(await allows(many(100), `/${'b'.repeat(400)}`)).toBe(false);
    expect(boundedRules(many(2_000)).length).toBeLessThan(70_000);
  });

  it.each([
    ['wildcards in one rule', `User-agent: *\nDisallow: /${'*a'.repeat(250_000)}`],
    ['wildcards in many rules', `User-agent: *\n${`Disallow: /${'*a'.repeat(240)}\n`.repeat(1_000)}`],
    ['many agents with many rules', `${'User-agent: x\n'.repeat(15_000)}${'Disallow: /b\n'.repeat(20_000)}`],
    ['our agent many times', `${'User-agent: *\n'.repeat(15_000)}${'Disallow: /b\n'.repeat(20_000)}`],
    ['blanks', `User-agent: *\nDisallow: /b${' '.repeat(500_000)}x`],
  ])('does not block the process: %s', async (_, file) => {
    const start = performance.now();
    expect(await allows(file, `/${'a'.repeat(1_900)}`)).toEqual(expect.any(Boolean));
    expect(performance.now() - start).toBeLessThan(2_000);
  });
});

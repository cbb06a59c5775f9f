import { describe, expect, it } from '@jest/globals';
import { lazyTools } from './lazy-tools.js';
import { noTools } from './tool.js';

describe('lazy tools', () => {
  function setUp() {
    const seen = { loads: 0, closes: 0 };
    const tools = lazyTools(() => {
      seen.loads += 1;
      return Promise.resolve({ forTurn: () => noTools, close: () => Promise.resolve(void (seen.closes += 1)) });
    });
    return { tools, seen };
  }
  const { signal } = new AbortController();

  it('are loaded once, on first use, and closed', async () => {
    const { tools, seen } = setUp();
    const source = tools.forTurn(() => 'token');
    expect(seen.loads).toBe(0);
    expect(await source.list(signal)).toEqual([]);
    expect(await source.call('search', {}, signal)).toMatchObject({ failed: true });
    await tools.close();
    expect(seen).toEqual({ loads: 1, closes: 1 });
  });

  it('are loaded once if they are prepared', async () => {
    const { tools, seen } = setUp();
    await tools.prepare();
    expect(seen.loads).toBe(1);
    await tools.forTurn(() => 'token').list(signal);
    expect(seen.loads).toBe(1);
  });

  it('are not loaded if they are closed unused', async () => {
    const { tools, seen } = setUp();
    await tools.close();
    expect(seen).toEqual({ loads: 0, closes: 0 });
  });
});

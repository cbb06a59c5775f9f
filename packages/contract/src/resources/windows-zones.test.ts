import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { windowsZones } from '../../generate/windows-zones.js';

describe('windows-zones.ts', () => {
  it('equals what `npm run generate` writes', () => {
    expect(readFileSync(new URL('windows-zones.ts', import.meta.url), 'utf8')).toBe(windowsZones());
  });
});

import { describe, expect, it } from '@jest/globals';
import { createPromptedOutput } from './prompted-output.js';

describe('output above a prompt', () => {
  it('replaces the prompt, which follows each complete line', () => {
    let written = '';
    const out = createPromptedOutput({ write: (text) => void (written += text) });
    out.write('before\n');
    out.prompting(() => void (written += 'you> '));
    out.write('later\n');
    out.write('part');
    out.prompting(undefined);
    out.write('after\n');
    expect(written).toBe('before\n\r\u001b[Klater\nyou> \r\u001b[Kpartafter\n');
  });
});

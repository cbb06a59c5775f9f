import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cleanName, savedAs } from './file-names.js';

describe('the name of a file', () => {
  it.each([
    ['report.pdf', 'report.pdf'],
    ['  報告 📄.pdf ', '報告 📄.pdf'],
    ['../../etc/passwd', '....etcpasswd'],
    [String.raw`C:\Users\ada\photo.png`, 'C:Usersadaphoto.png'],
    ['line\r\nbreak\u0000.txt', 'linebreak.txt'],
    ['invoice\u202Efdp.exe', 'invoicefdp.exe'],
    ['family \u{1F469}\u200D\u{1F467}.png', 'family \u{1F469}\u200D\u{1F467}.png'],
    ['Cafe\u0301.txt', 'Café.txt'],
    ['\ud800.txt', '\ufffd.txt'],
    ['..', 'file'],
    ['', 'file'],
    [undefined, 'file'],
  ])('%j becomes %j', (sent, name) => {
    expect(cleanName(sent)).toBe(name);
  });

  it('keeps its extension when it is shortened', () => {
    const name = cleanName(`${'a'.repeat(500)}.jpeg`);
    expect(name).toMatch(/^a+\.jpeg$/);
    expect(name).toHaveLength(200);
  });

  it('has at most 255 bytes, which file systems accept', () => {
    const name = cleanName(`${'報'.repeat(200)}.pdf`);
    expect(name).toMatch(/^報+\.pdf$/);
    expect(Buffer.byteLength(name)).toBe(83 * 3 + 4);
  });

  it('is not shortened within a character', () => {
    expect(cleanName('😀'.repeat(500)).isWellFormed()).toBe(true);
  });

  it('does not change when it is cleaned again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (sent) => {
        expect(cleanName(cleanName(sent))).toBe(cleanName(sent));
      }),
    );
  });
});

describe('Content-Disposition', () => {
  it('has an additional encoded name if the name is not ASCII', () => {
    expect(savedAs('Bericht "Ä" 報.pdf')).toBe(
      String.raw`attachment; filename="Bericht \"?\" ?.pdf"; filename*=UTF-8''Bericht%20%22%C3%84%22%20%E5%A0%B1.pdf`,
    );
  });

  it('is a single header with a single disposition for any file name', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (sent) => {
        const header = savedAs(cleanName(sent));
        expect(header).toMatch(/^attachment; filename[\t\x20-\x7e]*$/);
      }),
    );
  });
});

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { sentDisposition } from './sent-file-name.js';

/** Header parsers return bytes as Latin-1 text. */
const received = (text: string): string => Buffer.from(text).toString('latin1');
const fileName = (parameters: string): string | undefined =>
  sentDisposition(received(`form-data; name="file"; ${parameters}`))?.fileName;
const word = (text: string, charset = 'utf-8'): string => `=?${charset}?B?${Buffer.from(text).toString('base64')}?=`;

describe('the file name in a form', () => {
  it.each([
    ['of .NET', String.raw`filename="=?utf-8?B?w5xiZXIucGRm?="; filename*=utf-8''%C3%9Cber.pdf`],
    ['as an encoded word alone', 'filename="=?utf-8?B?w5xiZXIucGRm?="'],
    ['as an encoded word without quotes', 'filename==?UTF-8?b?w5xiZXIucGRm?='],
    ['as an encoded word with a language', 'filename="=?utf-8*de?B?w5xiZXIucGRm?="'],
    ['as an encoded word in quoted-printable', 'filename="=?utf-8?Q?=C3=9Cber.pdf?="'],
    ['as an encoded word in Latin-1', 'filename="=?iso-8859-1?q?=DCber.pdf?="'],
    ['in several encoded words', 'filename="=?utf-8?B?w5xi?= =?utf-8?B?ZXIucGRm?="'],
    ['in encoded words that divide a character', 'filename="=?utf-8?B?ww==?= =?utf-8?B?nGJlci5wZGY=?="'],
    ['in encoded words of two encodings', 'filename="=?iso-8859-1?Q?=DC?==?utf-8?Q?ber.pdf?="'],
    ['with an encoded word and text', 'filename="=?utf-8?B?w5xiZXI=?=.pdf"'],
    ['with a second name for old readers', `filename="Uber.pdf"; filename*=UTF-8''%C3%9Cber.pdf`],
    ['with the second name first', `filename*=UTF-8''%c3%9cber.pdf; filename="Uber.pdf"`],
    ['encoded in Latin-1', `filename="Uber.pdf"; filename*=ISO-8859-1'de'%DCber.pdf`],
    ['encoded in quotes', `filename*="UTF-8''%C3%9Cber.pdf"`],
    ['encoded without a character set', `filename*=%C3%9Cber.pdf`],
    ['encoded with an unknown character set', `filename*=x-none''%C3%9Cber.pdf`],
    ['encoded with the wrong character set', `filename*=UTF-8''%DCber.pdf`],
    ['not encoded, but marked as encoded', `filename*=UTF-8''Über.pdf`],
    ['encoded in parts', `filename*0*=UTF-8''%C3; filename*1*=%9Cber; filename*2=".pdf"`],
    ['in UTF-8', 'filename="Über.pdf"'],
    ['of React Native', 'filename="%C3%9Cber.pdf"'],
    ['with a path of Windows', String.raw`filename="C:\fakepath\Über.pdf"`],
    ['with a path', 'filename="../../home/ada/Über.pdf"'],
    ['with an encoded path', `filename*=UTF-8''..%2F..%5C%C3%9Cber.pdf`],
    ['with a path in an encoded word', `filename="${word('/home/ada/Über.pdf')}"`],
  ])('is read: a name %s', (_what, parameters) => {
    expect(fileName(parameters)).toBe('Über.pdf');
  });

  it('is read from bytes that are not UTF-8', () => {
    expect(sentDisposition('form-data; name=file; filename="\u00dcber.pdf"')?.fileName).toBe('Über.pdf');
  });

  it.each([
    ['a quote as browsers send it', 'filename="a%22b%22.txt"', 'a"b".txt'],
    ['a quote as old clients send it', String.raw`filename="a\"b\".txt"`, 'a"b".txt'],
    ['a semicolon', 'filename="a;b=c.txt"', 'a;b=c.txt'],
    ['a percent sign', 'filename="100%.txt"', '100%.txt'],
    ['an escape that the user has written', 'filename="50%20off (new).txt"', '50%20off (new).txt'],
    ['a percent sign that is not an escape', `filename*=UTF-8''100%25%20or%zz.txt`, '100% or%zz.txt'],
    ['what only looks like an encoded word', 'filename="=?what?.txt"', '=?what?.txt'],
    ['an encoded word in an unknown encoding', 'filename="=?x-none?B?w5xi?="', '=?x-none?B?w5xi?='],
    ['an underscore in quoted-printable', 'filename="=?utf-8?Q?a_b=5Fc.txt?="', 'a b_c.txt'],
    ['only a path', 'filename="/home/ada/"', ''],
    ['nothing', 'filename=""', ''],
  ])('keeps %s', (_what, parameters, name) => {
    expect(fileName(parameters)).toBe(name);
  });

  it('is the readable one of two names', () => {
    expect(fileName(`filename="Über.pdf"; filename*=x-none''`)).toBe('Über.pdf');
  });

  it('is absent if the part has none', () => {
    expect(sentDisposition('form-data; name="file"')).toEqual({ field: 'file', fileName: undefined });
  });

  it('is not read from another disposition', () => {
    expect(sentDisposition('attachment; name="file"; filename="a"')).toBeUndefined();
  });

  it('is the name that was encoded, in each common encoding', () => {
    const names = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((name) => !/[/\\%=?"\s\p{Cc}\p{Cs}]/u.test(name));
    fc.assert(
      fc.property(names, (name) => {
        const encoded = encodeURIComponent(name).replaceAll(/['()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16)}`);
        expect(
          [`"${name}"`, `"${word(name)}"`, `"${encodeURIComponent(name)}"`].map((text) => fileName(`filename=${text}`)),
        ).toEqual([name, name, name]);
        expect(fileName(`filename="x"; filename*=UTF-8''${encoded}`)).toBe(name);
      }),
    );
  });

  it('never has a folder, whatever is sent', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(sentDisposition(`form-data; ${text}`)?.fileName ?? '').not.toMatch(/[/\\]/);
      }),
    );
  });
});

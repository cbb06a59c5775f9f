import { describe, expect, it } from '@jest/globals';
import iconv from 'iconv-lite';
import { decodeText } from './decode.js';

describe('decodeText', () => {
  const samples: [encoding: string, text: string][] = [
    ['utf-8', 'Grüße, Привет, 日本語'],
    ['utf-16le', 'Plain text with Grüße\nsecond line\n'],
    ['utf-16be', 'Plain text with Grüße\nsecond line\n'],
    ['utf-32le', 'Plain text with Grüße\n'],
    ['windows-1252', 'Die Größe der Straße in München läßt für Fußgänger “schöne” Wünsche übrig. '.repeat(4)],
    ['windows-1251', 'Это простой русский текст, который должен быть прочитан правильно. '.repeat(4)],
    ['koi8-r', 'Это простой русский текст, который должен быть прочитан правильно. '.repeat(4)],
    ['shift_jis', 'これは日本語の文章です。正しく読めるはずです。'.repeat(6)],
    ['gbk', '这是一个中文文本，应该能够正确读取。我们的文件很重要。'.repeat(6)],
  ];

  it.each(samples)('reads text in %s without a mark', (encoding, text) => {
    expect(decodeText(iconv.encode(text, encoding))).toBe(text);
  });

  it.each(['utf-8', 'utf-16le', 'utf-16be', 'utf-32le', 'utf-32be'])('reads text in %s with a mark', (encoding) => {
    const bytes = iconv.encode('日本語', encoding, { addBOM: true });
    expect(decodeText(bytes)).toBe('日本語');
  });

  it.each([
    ['a picture', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
    ['zeros', Buffer.alloc(500)],
  ])('takes %s for no text', (_, bytes) => {
    expect(decodeText(bytes)).toBeUndefined();
  });

  it('believes the encoding in the head of a page', () => {
    const html = '<html><head><meta charset="iso-8859-2"></head>Łódź';
    expect(decodeText(iconv.encode(html, 'iso-8859-2'))).toBe(html);
  });

  it('keeps the readable part of broken UTF-8', () => {
    const bytes = Buffer.concat([Buffer.from('Größe '.repeat(1000)), Buffer.from([0xff])]);
    expect(decodeText(bytes)).toBe(`${'Größe '.repeat(1000)}\uFFFD`);
  });
});

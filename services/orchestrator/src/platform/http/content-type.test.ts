import { describe, expect, it } from '@jest/globals';
import { jsonContentType } from './content-type.js';

describe('jsonContentType', () => {
  it.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json; charset=utf8',
    'application/json;charset=UTF8',
    'application/json; charset="utf-8"',
    'application/json; charset="UTF8"',
    "application/json; charset='utf-8'",
    'application/json; charset=utf_8',
    'application/json; Charset = UTF-8',
    'application/json; charset=us-ascii',
    'application/json; charset=unicode-1-1-utf-8',
    'application/json; odata.metadata=minimal; charset=utf8',
    'application/json; charset=',
    'application/json; charset',
    'application/json;',
    'application/json; charset=utf-8;',
  ])('takes %j for JSON in UTF-8', (header) => {
    expect(jsonContentType(header)).toBe('application/json');
  });

  it.each([
    ['application/json; charset=UTF16LE', 'utf-16le'],
    ['application/json; charset=utf_32', 'utf-32'],
  ])('passes on the other Unicode encoding of %j', (header, charset) => {
    expect(jsonContentType(header)).toBe(`application/json; charset=${charset}`);
  });

  it.each(['latin1', 'iso-8859-1', 'windows-1252', 'gbk', 'utf-7', 'nonsense'])(
    'rejects the charset %s and names the right one',
    (charset) => {
      expect(() => jsonContentType(`application/json; charset=${charset}`)).toThrow(
        'The body must be encoded in UTF-8.',
      );
    },
  );

  it.each([
    undefined,
    '',
    'text/plain',
    'application/jsonp',
    'application/json, text/plain',
    'application/x-www-form-urlencoded',
  ])('rejects %j', (header) => {
    expect(() => jsonContentType(header)).toThrow('The body must be application/json');
  });
});

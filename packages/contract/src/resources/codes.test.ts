import { describe, expect, it } from '@jest/globals';
import { canonicalLanguage, CountryCode, CurrencyCode, LanguageTag, TimeZone } from './codes.js';

const accepts = (schema: { safeParse(value: unknown): { success: boolean } }) => (value: unknown) =>
  schema.safeParse(value).success;

describe('codes of other standards', () => {
  it('lists every ISO 3166-1 country once', () => {
    const countries = CountryCode.options.filter((code) => code !== '');
    expect(new Set(countries).size).toBe(249);
    expect(countries).toHaveLength(249);
  });

  it('accepts the empty country and the empty time zone, which a new profile has', () => {
    expect({ country: accepts(CountryCode)(''), timeZone: accepts(TimeZone)('') }).toEqual({
      country: true,
      timeZone: true,
    });
  });

  it('lists each currency once', () => {
    expect(new Set(CurrencyCode.options).size).toBe(CurrencyCode.options.length);
  });

  it.each(['DE', 'GB', 'US', 'BR', 'JP', 'XK', 'UK', 'EU', 'ZZ', 'AA', 'de', 'DEU', ' '])(
    'accepts the country %j only if it is an ISO 3166-1 code',
    (code) => {
      expect(accepts(CountryCode)(code)).toBe(['DE', 'GB', 'US', 'BR', 'JP'].includes(code));
    },
  );

  it.each(['EUR', 'USD', 'JPY', 'XOF', 'ZWG', 'XCG', 'DEM', 'XXX', 'XAU', 'BTC', 'eur', 'EU', ''])(
    'accepts the currency %j only if it is an ISO 4217 code',
    (code) => {
      expect(accepts(CurrencyCode)(code)).toBe(['EUR', 'USD', 'JPY', 'XOF', 'ZWG', 'XCG'].includes(code));
    },
  );

  it.each([
    ['en', 'en'],
    ['EN-gb', 'en-GB'],
    ['zh-hant-tw', 'zh-Hant-TW'],
    ['es-419', 'es-419'],
    ['en_US', 'en-US'],
    ['zh_hant_TW', 'zh-Hant-TW'],
    ['de-CH-1996', 'de-CH-1996'],
    ['en-u-nu-latn', 'en-u-nu-latn'],
    ['sr-Latn-x-private', 'sr-Latn-x-private'],
  ])('returns the language %j as %j', (tag, canonical) => {
    expect(accepts(LanguageTag)(tag)).toBe(true);
    expect(canonicalLanguage(tag)).toBe(canonical);
  });

  it.each([
    '',
    'e',
    'english',
    'en-',
    'en_',
    'en__GB',
    'en_US.UTF-8',
    '-en',
    'en--GB',
    'de-1996-1996',
    'en-a-bb-a-cc',
    'x'.repeat(36),
    'en GB',
  ])('rejects the language %j', (tag) => {
    expect(accepts(LanguageTag)(tag)).toBe(false);
  });
});

import { describe, expect, it } from '@jest/globals';
import { pageSettings } from './page-settings.js';

const config = {
  OIDC_ISSUERS: [
    { issuer: 'https://login.example.com', audience: ['app', 'page'] },
    { issuer: 'https://other.example.com', audience: 'other' },
  ],
  SIGNATURE_MODE: 'off' as const,
  WEB_CLIENT_ID: 'page',
  WEB_ISSUER: undefined,
  WEB_SCOPES: 'openid email',
  WEB_ISSUER_ORIGINS: ['https://tokens.example.com'],
};

describe('pageSettings', () => {
  it('has the first issuer unless another is named', () => {
    const rest = { scopes: 'openid email', issuerOrigins: ['https://tokens.example.com'] };
    expect(pageSettings(config)).toEqual({ issuer: 'https://login.example.com', clientId: 'page', ...rest });
    const other = { WEB_ISSUER: 'https://other.example.com', WEB_CLIENT_ID: 'other' };
    expect(pageSettings({ ...config, ...other })).toEqual({ issuer: other.WEB_ISSUER, clientId: 'other', ...rest });
  });

  it('is undefined without a client id', () => {
    expect(pageSettings({ ...config, WEB_CLIENT_ID: undefined, SIGNATURE_MODE: 'required' })).toBeUndefined();
  });

  it.each([
    [
      'signatures are required, which a page cannot make',
      { SIGNATURE_MODE: 'required' as const },
      /^WEB_CLIENT_ID needs/,
    ],
    ['the issuer is not a trusted one', { WEB_ISSUER: 'https://login.example' }, /^WEB_ISSUER is not an issuer/],
    ['tokens of the client would be refused', { WEB_CLIENT_ID: 'pag' }, /^WEB_CLIENT_ID is not an audience of https:/],
  ])('is rejected if %s', (_case, change, message) => {
    expect(() => pageSettings({ ...config, ...change })).toThrow(message);
  });
});

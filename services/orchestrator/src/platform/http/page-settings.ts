export interface PageSettings {
  issuer: string;
  clientId: string;
  scopes: string;
  issuerOrigins: readonly string[];
}

interface PageConfig {
  OIDC_ISSUERS: readonly { issuer: string; audience: string | string[] }[];
  SIGNATURE_MODE: 'off' | 'required';
  WEB_CLIENT_ID?: string | undefined;
  WEB_ISSUER?: string | undefined;
  WEB_SCOPES: string;
  WEB_ISSUER_ORIGINS: readonly string[];
}

/** @returns undefined if the page is not served @throws Error if its users could not call the API */
export function pageSettings(config: PageConfig): PageSettings | undefined {
  const { WEB_CLIENT_ID: clientId, WEB_ISSUER: wanted } = config;
  if (clientId === undefined) return undefined;
  if (config.SIGNATURE_MODE === 'required') {
    throw new Error('WEB_CLIENT_ID needs SIGNATURE_MODE=off: a page cannot keep the secret that signs requests');
  }
  const found =
    wanted === undefined ? config.OIDC_ISSUERS[0] : config.OIDC_ISSUERS.find(({ issuer }) => issuer === wanted);
  if (found === undefined) throw new Error('WEB_ISSUER is not an issuer of OIDC_ISSUERS');
  if (![found.audience].flat().includes(clientId)) {
    throw new Error(
      `WEB_CLIENT_ID is not an audience of ${found.issuer} in OIDC_ISSUERS, so its tokens would be refused`,
    );
  }
  return { issuer: found.issuer, clientId, scopes: config.WEB_SCOPES, issuerOrigins: config.WEB_ISSUER_ORIGINS };
}

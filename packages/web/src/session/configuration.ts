/** `GET /page.json`: needed before the sign-in. */
export interface Configuration {
  issuer: string;
  client_id: string;
  scopes: string;
  /** Local mode: users sign in with only a name. */
  local: boolean;
}

export async function loadConfiguration(): Promise<Configuration> {
  const response = await fetch('/page.json', { cache: 'no-store' });
  if (!response.ok) throw new Error(`The configuration of the page could not be loaded (status ${response.status}).`);
  return (await response.json()) as Configuration;
}

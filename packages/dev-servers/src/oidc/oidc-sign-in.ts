import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Provider } from 'oidc-provider';
import { z } from 'zod';
import { subjectOf } from './oidc-token.js';
import { readBody } from './request-body.js';

type Interaction = Awaited<ReturnType<Provider['interactionDetails']>>;

export const SIGN_IN_PATH = '/sign-in/';
const SCOPES = 'openid email profile offline_access';

const profile = z.object({ email: z.email(), name: z.string().trim().min(1).max(200) });

export type Profile = z.infer<typeof profile>;

/** Users who have signed in since the issuer started. */
export interface AccountRegistry {
  remember(subject: string, given: Profile): void;
  find(subject: string): Profile | undefined;
}

/**
 * The sign-in page: e-mail address and name without a password; signing in grants all scopes. The form is not shown again
 * while the browser's session lasts, unless the app wants it, nor for a page that sends both as `login_hint` and `login_name`, because it
 * has asked for them itself.
 */
export async function answerSignIn(
  provider: Provider,
  accounts: AccountRegistry,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const interaction = await provider.interactionDetails(request, response);
  const { params, prompt, session } = interaction;
  // The library asks native apps for the consent at each sign-in.
  const known = prompt.name === 'consent' ? accounts.find(session?.accountId ?? '') : undefined;
  const isForm = request.method === 'POST';
  const given = profile.safeParse(
    isForm
      ? Object.fromEntries(new URLSearchParams((await readBody(request)) ?? ''))
      : { email: params['login_hint'] ?? known?.email, name: params['login_name'] ?? known?.name },
  );
  if (!given.success) {
    showForm(response, isForm ? 400 : 200, isForm ? '<p>Please give an e-mail address and a name.</p>' : '');
    return;
  }
  const accountId = subjectOf(given.data.email);
  accounts.remember(accountId, given.data);
  await forgetOther(provider, interaction, accountId);
  const grant = new provider.Grant({ accountId, clientId: String(params['client_id']) });
  grant.addOIDCScope(SCOPES);
  const grantId = await grant.save();
  await provider.interactionFinished(request, response, { login: { accountId }, consent: { grantId } });
}

/** The library signs out the last user on a separate page, after which it does not find the sign-in any more. */
async function forgetOther(provider: Provider, interaction: Interaction, accountId: string): Promise<void> {
  const { session } = interaction;
  if (session === undefined || session.accountId === accountId) return;
  await (await provider.Session.findByUid(session.uid))?.destroy();
  delete interaction.session;
  await interaction.persist();
}

function showForm(response: ServerResponse, status: number, note: string): void {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Development sign-in</title>
<h1>Development sign-in</h1>
${note}
<form method="post">
  <p><label>E-mail <input name="email" type="email" required autofocus></label>
  <p><label>Name <input name="name" required></label>
  <p><button>Sign in</button>
</form>
`;
  response.writeHead(status, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' }).end(html);
}

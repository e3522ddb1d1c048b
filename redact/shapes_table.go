package redact

const (
	leakID    = "leak"
	entropyID = "random"
)

// Alphabets of tokens.
var (
	alnum          = classOf(letters + digits)
	word           = classOf(letters + digits + "_-")
	dotted         = classOf(letters + digits + "_-.")
	upperNum       = classOf(digits + "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
	lowerNum       = classOf(digits + "abcdefghijklmnopqrstuvwxyz")
	hexDigits      = classOf(digits + "abcdefABCDEF")
	lowerHexDigits = classOf(lowerHex)
	base64Any      = classOf(letters + digits + "+/_-")
	assigned64     = classOf(letters + digits + "+/_-=,")
	percentAny     = classOf(letters + digits + "+/_-%")
	secretID       = classOf(letters + digits + "_-.~")
	slackAny       = classOf(letters + digits + "-%+/")
	bech32         = classOf("qpzry9x8gf2tvdw0s3jn54khce6mua7l")
)

// shapes is the table of R5. Ids have at most seven bytes, so that no value long
// enough to be registered can occur in them. What follows an anchor is mostly taken as
// far as its alphabet goes, without an upper limit: a longer token than the
// issuer's is no reason to let it pass.
var shapes = []shape{
	{Shape{leakID, "leak form [BYOK:…]", "RFC 0012, conformance"}, []string{"[BYOK:"}, false, bracketed},
	{Shape{leakID, "leak form <REDACTED:…>", "RFC 0004, RFC 0012"}, []string{"<REDACTED:"}, false, angled},

	{Shape{"pem-key", "private-key block", "RFC 7468 §10, RFC 9580 §6.2"}, []string{"-----BEGIN "}, false, pemKey},
	{Shape{"jwt", "JSON Web Token", "RFC 7519, RFC 7515 §3.1"}, []string{"eyJ"}, true, jwt},
	{Shape{"urlpass", "password or token in a URL", "RFC 3986 §3.2.1"}, []string{"://"}, false, urlPassword},
	{Shape{"dsnpass", "password in a connection string", "postgresql.org/docs/current/libpq-connect.html; learn.microsoft.com, SqlConnection.ConnectionString"}, []string{"password=", "Password=", "PASSWORD=", "passwd=", "Passwd=", "pwd=", "Pwd=", "PWD="}, true, dsnPassword},
	{Shape{"bearer", "bearer token in a header", "RFC 6750 §2.1"}, []string{"Bearer ", "bearer ", "BEARER "}, true, bearer},
	{Shape{"basic", "basic credentials in a header", "RFC 7617 §2"}, []string{"Basic ", "basic ", "BASIC "}, true, basic},

	{Shape{"openai", "OpenAI API key", "platform.openai.com/docs/api-reference/authentication"}, []string{"sk-proj-", "sk-svcacct-", "sk-admin-"}, true, token(&word, 20)},
	{Shape{"openai", "OpenAI API key, older form", "platform.openai.com/docs/api-reference/authentication"}, []string{"sk-"}, true, token(&alnum, 32)},
	{Shape{"ant-key", "Anthropic API key", "docs.anthropic.com/en/api/overview"}, []string{"sk-ant-"}, true, token(&word, 20)},
	{Shape{"openrtr", "OpenRouter API key", "openrouter.ai/docs/api-reference/authentication"}, []string{"sk-or-v1-"}, true, token(&alnum, 32)},
	{Shape{"groq", "Groq API key", "console.groq.com/docs/quickstart"}, []string{"gsk_"}, true, token(&alnum, 40)},
	{Shape{"hf", "Hugging Face token", "huggingface.co/docs/hub/security-tokens"}, []string{"hf_", "api_org_"}, true, token(&alnum, 30)},
	{Shape{"replic8", "Replicate API token", "replicate.com/docs/reference/http"}, []string{"r8_"}, true, token(&alnum, 36)},
	{Shape{"xai", "xAI API key", "docs.x.ai"}, []string{"xai-"}, true, token(&alnum, 70)},
	{Shape{"pplx", "Perplexity API key", "docs.perplexity.ai"}, []string{"pplx-"}, true, token(&alnum, 40)},
	{Shape{"pinecon", "Pinecone API key", "docs.pinecone.io"}, []string{"pcsk_"}, true, token(&word, 50)},
	{Shape{"langsm", "LangSmith API key", "docs.smith.langchain.com"}, []string{"lsv2_pt_", "lsv2_sk_"}, true, token(&word, 40)},

	{Shape{"github", "GitHub token", "docs.github.com/en/authentication/keeping-your-account-and-data-secure/about-authentication-to-github"}, []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, false, token(&alnum, 36)},
	{Shape{"github", "GitHub fine-grained token", "docs.github.com, as above"}, []string{"github_pat_"}, false, token(&word, 40)},
	{Shape{"gitlab", "GitLab token", "docs.gitlab.com/security/tokens"}, []string{"glpat-", "gldt-", "glptt-", "glrt-", "glsoat-", "glcbt-", "glft-", "glagent-", "gloas-"}, true, token(&word, 20)},
	{Shape{"atlass", "Atlassian API token", "support.atlassian.com, API tokens"}, []string{"ATATT3", "ATCTT3"}, true, token(&assigned64, 100)},
	{Shape{"npm", "npm access token", "docs.npmjs.com/about-access-tokens"}, []string{"npm_"}, true, token(&alnum, 36)},
	{Shape{"pypi", "PyPI API token", "pypi.org/help/#apitoken"}, []string{"pypi-AgE"}, true, token(&word, 50)},
	{Shape{"rubygem", "RubyGems API key", "guides.rubygems.org/api-key-scopes"}, []string{"rubygems_"}, true, token(&hexDigits, 48)},
	{Shape{"nuget", "NuGet API key", "learn.microsoft.com/nuget"}, []string{"oy2"}, true, exactly(&lowerNum, 43)},
	{Shape{"docker", "Docker Hub access token", "docs.docker.com/security/access-tokens"}, []string{"dckr_pat_", "dckr_oat_"}, true, token(&word, 27)},

	{Shape{"aws", "AWS access key id", "docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html"}, []string{"AKIA", "ASIA", "ABIA", "ACCA"}, true, token(&upperNum, 16)},
	{Shape{"aws", "AWS secret access key, named", "docs.aws.amazon.com/cli/latest/userguide/cli-configure-files.html"}, []string{"secret_access_key", "SECRET_ACCESS_KEY", "SecretAccessKey", "secretAccessKey", "secret-access-key"}, false, assigned(40)},
	{Shape{"aws", "AWS Bedrock API key", "docs.aws.amazon.com/bedrock"}, []string{"ABSK"}, true, token(&assigned64, 100)},
	{Shape{"aws", "AWS session token", "docs.aws.amazon.com/STS"}, []string{"FwoGZXIvYXdz", "IQoJb3JpZ2lu"}, true, token(&base64Any, 80)},
	{Shape{"aws", "Amazon MWS token", "developer-docs.amazon.com"}, []string{"amzn.mws."}, true, token(&word, 36)},
	{Shape{"google", "Google API key", "cloud.google.com/docs/authentication/api-keys"}, []string{"AIza"}, true, token(&word, 35)},
	{Shape{"google", "Google OAuth client secret", "developers.google.com/identity/protocols/oauth2"}, []string{"GOCSPX-"}, true, token(&word, 28)},
	{Shape{"google", "Google OAuth access token", "cloud.google.com/docs/authentication/token-types"}, []string{"ya29."}, true, token(&word, 30)},
	{Shape{"google", "Google OAuth refresh token", "developers.google.com/identity/protocols/oauth2"}, []string{"1//0"}, true, token(&word, 40)},
	{Shape{"azure", "Azure storage or bus key", "learn.microsoft.com/azure/storage/common/storage-configure-connection-string"}, []string{"AccountKey=", "SharedAccessKey="}, false, behind(token(&base64Any, 40))},
	{Shape{"azure", "Azure client secret", "learn.microsoft.com/entra/identity-platform"}, []string{"7Q~", "8Q~"}, false, after(&secretID, 3, exactly(&secretID, 34))},
	{Shape{"azure", "Azure shared access signature", "learn.microsoft.com/azure/storage/common/storage-sas-overview"}, []string{"?sig=", "&sig="}, false, behind(token(&percentAny, 43))},
	{Shape{"do", "DigitalOcean token", "docs.digitalocean.com/reference/api/create-personal-access-token"}, []string{"dop_v1_", "doo_v1_", "dor_v1_"}, true, token(&alnum, 64)},
	{Shape{"fly", "Fly.io token", "fly.io/docs/security/tokens"}, []string{"fo1_", "fm1r_", "fm2_"}, true, token(&assigned64, 40)},
	{Shape{"heroku", "Heroku API key", "devcenter.heroku.com/articles/authentication"}, []string{"HRKU-AA"}, true, token(&word, 50)},
	{Shape{"netlify", "Netlify access token", "docs.netlify.com/api"}, []string{"nfp_"}, true, token(&alnum, 36)},
	{Shape{"supabas", "Supabase token or secret key", "supabase.com/docs/guides/api/api-keys"}, []string{"sbp_", "sb_secret_"}, true, token(&word, 30)},
	{Shape{"tailscl", "Tailscale key", "tailscale.com/kb/1085/auth-keys"}, []string{"tskey-"}, true, token(&word, 20)},
	{Shape{"tfcloud", "Terraform Cloud token", "developer.hashicorp.com/terraform/cloud-docs"}, []string{".atlasv1."}, false, after(&alnum, 14, token(&word, 60))},
	{Shape{"vault", "HashiCorp Vault token", "developer.hashicorp.com/vault/docs/concepts/tokens"}, []string{"hvs.", "hvb.", "hvr."}, true, token(&word, 24)},
	{Shape{"pulumi", "Pulumi access token", "pulumi.com/docs/pulumi-cloud/access-management"}, []string{"pul-"}, true, token(&hexDigits, 40)},
	{Shape{"doppler", "Doppler token", "docs.doppler.com/docs/service-tokens"}, []string{"dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."}, true, token(&dotted, 40)},
	{Shape{"1passwd", "1Password service account token", "developer.1password.com/docs/service-accounts"}, []string{"ops_eyJ"}, true, token(&base64Any, 200)},
	{Shape{"dbricks", "Databricks token", "docs.databricks.com/dev-tools/auth/pat.html"}, []string{"dapi"}, true, token(&hexDigits, 32)},
	{Shape{"age", "age identity", "age-encryption.org/v1"}, []string{"AGE-SECRET-KEY-1"}, false, token(&upperNum, 58)},
	{Shape{"nostr", "Nostr private key", "github.com/nostr-protocol/nips, NIP-19"}, []string{"nsec1"}, true, exactly(&bech32, 58)},

	{Shape{"stripe", "Stripe secret or restricted key", "docs.stripe.com/keys"}, []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_"}, true, token(&alnum, 24)},
	{Shape{"stripe", "Stripe webhook secret", "docs.stripe.com/webhooks"}, []string{"whsec_"}, true, token(&base64Any, 32)},
	{Shape{"square", "Square token or secret", "developer.squareup.com/docs/build-basics/access-tokens"}, []string{"sq0atp-", "sq0csp-"}, true, token(&word, 22)},
	{Shape{"square", "Square access token", "developer.squareup.com, as above"}, []string{"EAAAE"}, true, token(&word, 55)},
	{Shape{"plaid", "Plaid access token", "plaid.com/docs/api/tokens"}, []string{"access-sandbox-", "access-production-", "access-development-"}, true, token(&word, 36)},
	{Shape{"shopify", "Shopify access token", "shopify.dev/docs/apps/build/authentication-authorization"}, []string{"shpat_", "shpca_", "shppa_", "shpss_"}, true, token(&hexDigits, 32)},
	{Shape{"slack", "Slack token", "api.slack.com/concepts/token-types"}, []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xapp-"}, true, token(&slackAny, 20)},
	{Shape{"slack", "Slack webhook", "api.slack.com/messaging/webhooks"}, []string{"hooks.slack.com/services/"}, false, behind(parts(&alnum, '/', 6, 6, 16))},
	{Shape{"discord", "Discord webhook", "discord.com/developers/docs/resources/webhook"}, []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, false, behind(parts(&word, '/', 17, 60))},
	{Shape{"telegrm", "Telegram bot token in a URL", "core.telegram.org/bots/api#authorizing-your-bot"}, []string{"api.telegram.org/bot"}, false, behind(parts(&word, ':', 6, 30))},
	{Shape{"twilio", "Twilio API key", "twilio.com/docs/iam/api-keys"}, []string{"SK"}, true, exactly(&lowerHexDigits, 32)},
	{Shape{"sendgrd", "SendGrid API key", "www.twilio.com/docs/sendgrid/ui/account-and-settings/api-keys"}, []string{"SG."}, true, parts(&word, '.', 16, 32)},
	{Shape{"mailgun", "Mailgun API key", "documentation.mailgun.com/docs/mailgun/api-reference"}, []string{"key-"}, true, exactly(&lowerHexDigits, 32)},
	{Shape{"brevo", "Brevo API key", "developers.brevo.com"}, []string{"xkeysib-", "xsmtpsib-"}, true, parts(&alnum, '-', 64, 16)},
	{Shape{"resend", "Resend API key", "resend.com/docs/api-reference"}, []string{"re_"}, true, parts(&alnum, '_', 8, 24)},

	{Shape{"linear", "Linear API key", "linear.app/developers/graphql"}, []string{"lin_api_", "lin_oauth_"}, true, token(&alnum, 32)},
	{Shape{"notion", "Notion integration secret", "developers.notion.com/docs/authorization"}, []string{"ntn_"}, true, token(&alnum, 40)},
	{Shape{"notion", "Notion integration secret, older form", "developers.notion.com/docs/authorization"}, []string{"secret_"}, true, exactly(&alnum, 43)},
	{Shape{"airtabl", "Airtable token", "airtable.com/developers/web/guides/personal-access-tokens"}, []string{"pat"}, true, parts(&alnum, '.', 14, 60)},
	{Shape{"hubspot", "HubSpot private app token", "developers.hubspot.com/docs/apps"}, []string{"pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-"}, true, token(&word, 36)},
	{Shape{"figma", "Figma token", "figma.com/developers/api#authentication"}, []string{"figd_", "figo_"}, true, token(&word, 40)},
	{Shape{"mapbox", "Mapbox secret token", "docs.mapbox.com/help/glossary/access-token"}, []string{"sk.eyJ"}, true, parts(&word, '.', 50, 20)},
	{Shape{"postman", "Postman API key", "learning.postman.com/docs/developer/postman-api"}, []string{"PMAK-"}, true, parts(&hexDigits, '-', 24, 34)},
	{Shape{"dropbox", "Dropbox access token", "developers.dropbox.com/oauth-guide"}, []string{"sl."}, true, token(&dotted, 130)},
	{Shape{"grafana", "Grafana service account token", "grafana.com/docs/grafana/latest/administration/service-accounts"}, []string{"glsa_"}, true, token(&word, 32)},
	{Shape{"grafana", "Grafana Cloud token", "grafana.com/docs/grafana-cloud"}, []string{"glc_eyJ"}, true, token(&assigned64, 40)},
	{Shape{"grafana", "Grafana API key", "grafana.com/docs/grafana/latest/administration/api-keys"}, []string{"eyJrIjoi"}, true, token(&assigned64, 60)},
	{Shape{"sentry", "Sentry token", "docs.sentry.io/account/auth-tokens"}, []string{"sntrys_eyJ", "sntryu_"}, true, token(&assigned64, 50)},
	{Shape{"newrel", "New Relic key", "docs.newrelic.com/docs/apis/intro-apis/new-relic-api-keys"}, []string{"NRAK-"}, true, exactly(&upperNum, 27)},
	{Shape{"sonar", "SonarQube token", "docs.sonarsource.com/sonarqube-server/user-guide/managing-tokens"}, []string{"squ_", "sqp_", "sqa_"}, true, token(&hexDigits, 40)},
}

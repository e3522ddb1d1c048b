package pagetest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// chromium finds the browser.
func chromium(t *testing.T) string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	if os.Getenv("AGENTMEMORY_REQUIRE_CHROMIUM") != "" {
		t.Fatal("there is no chromium, and AGENTMEMORY_REQUIRE_CHROMIUM asks for one")
	}
	t.Skip("there is no chromium to look at the page with")
	return ""
}

// person looks at the page in one tab.
type person struct {
	t        *testing.T
	tab      context.Context
	width    int
	mu       sync.Mutex
	problems []string
}

// look opens a tab of a size and a colour scheme, not signed in. What the console says is an
// error of the test.
func look(t *testing.T, url string, width int64, scheme string) *person {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.Flag("force-color-profile", "srgb"))
	allocator, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	tab, closeTab := chromedp.NewContext(allocator)
	t.Cleanup(closeTab)
	p := &person{t: t, tab: tab, width: int(width)}
	require.NoError(t, chromedp.Listen(tab, func(ev any) { // starts the browser
		p.mu.Lock()
		defer p.mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			p.problems = append(p.problems, ev.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			p.problems = append(p.problems, fmt.Sprintf("console.%s: %v", ev.Type, ev.Args))
		case *log.EventEntryAdded:
			p.problems = append(p.problems, ev.Entry.Text)
		}
	}))
	size := emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1, Mobile: width < 500}
	_, err := chromedp.Call(tab, emulation.SetDeviceMetricsOverride, size)
	require.NoError(t, err)
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
	_, err = chromedp.Call(tab, emulation.SetEmulatedMedia, media)
	require.NoError(t, err)
	p.do(chromedp.Navigate(url))
	p.wait("input[name=token]")
	return p
}

func (p *person) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.tab, time.Minute)
	defer cancel()
	require.NoError(p.t, chromedp.Do(ctx, steps...))
}

// eval is what a script says.
func eval[T any](p *person, script string) T {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.tab, time.Minute)
	defer cancel()
	said, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	require.NoError(p.t, err, script)
	return said
}

// wait waits until something can be seen.
func (p *person) wait(selector string) {
	p.t.Helper()
	p.do(chromedp.WaitVisible(chromedp.CSS(selector)))
}

// until waits until an expression holds.
func (p *person) until(expression string) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.tab, time.Minute)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Poll[bool](expression))
	require.NoError(p.t, err, expression)
}

func (p *person) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// signIn types a token.
func (p *person) signIn(token string) {
	p.t.Helper()
	p.do(chromedp.SendKeys(chromedp.CSS("input[name=token]"), token+"\n"))
}

// open goes to a section and waits until it is there.
func (p *person) open(hash string) {
	p.t.Helper()
	section, _, _ := strings.Cut(hash, "?")
	eval[any](p, fmt.Sprintf("location.hash === %q || (location.hash = %q, delete document.getElementById('main').dataset.ready, 0)", "#"+hash, "#"+hash))
	p.wait("main[data-ready=" + section + "]")
}

// sees is the text of what a selector finds, as it is laid out.
func (p *person) sees(selector string) string {
	p.t.Helper()
	p.wait(selector)
	return eval[string](p, fmt.Sprintf("[...document.querySelectorAll(%q)].map(e => e.innerText).join('\\n')", selector))
}

// picture keeps what the person sees, for a person to look at.
func (p *person) picture(name string) {
	p.t.Helper()
	dir := os.Getenv("AGENTMEMORY_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.tab, chromedp.FullScreenshot(100))
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600))
}

// calm fails if the console said anything.
func (p *person) calm() {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.Empty(p.t, p.problems, "the console")
}

// fits fails if the page is wider than the window.
func (p *person) fits(where string) {
	p.t.Helper()
	wide := eval[[]string](p, fmt.Sprintf(`[...document.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > %d.5 && !e.closest(".skip")).map(e => e.tagName + "." + e.className)`, p.width))
	assert.Empty(p.t, wide, "%s: beyond the right edge", where)
	scroll := eval[int](p, "document.documentElement.scrollWidth")
	assert.LessOrEqual(p.t, scroll, p.width, "%s: scrolls sideways", where)
}

func TestPage_WhatAPersonSees(t *testing.T) {
	s := newSample(t)
	p := look(t, s.url(), 1280, "light")
	p.picture("signin-light")
	p.signIn("a")

	p.open("overview")
	p.wait("#agents article")
	p.wait("#plots figure")
	overview := p.sees("main")
	for _, want := range []string{"What the host can do", "long-term-durability", "replay-snapshot", "memoryConsolidation", "Archivist", "degraded memory", "Has to do without: write", "Live entries", "Events waiting", "Commitments overdue"} {
		assert.Contains(t, overview, want)
	}
	dimensions := eval[int](p, `document.querySelectorAll("#dimensions li").length`)
	drawn := eval[int](p, `document.querySelectorAll("#plots svg path").length`)
	assert.Equal(t, 8, dimensions)
	assert.Equal(t, 4*2, drawn)
	points := eval[[]int](p, `[...document.querySelectorAll("#plots svg .path")].map(e => e.getAttribute("d").split("L").length)`)
	assert.Subset(t, []int{8, 9, 10}, points, "each plot has a week of samples")
	assert.Contains(t, p.sees("#who"), "acme")
	assert.Contains(t, p.sees("#plots [data-plot='Live entries']"), fmt.Sprint(s.live))
	p.picture("overview-light")

	p.open("memory?ref=" + home)
	entries := p.sees("#entries")
	assert.Contains(t, entries, "Ann prefers short mails")
	assert.Contains(t, entries, "preference")
	assert.NotContains(t, entries, "Ann likes her mails short", "what was merged is not live")
	p.click("#entries article[data-id='" + s.merged + "'] .meta button")
	p.wait(".kin li + li")
	kin := p.sees(".kin")
	assert.Contains(t, kin, "Ann likes her mails short")
	assert.Contains(t, kin, "merged")
	p.picture("memory-light")
	p.click("#entries article[data-id='" + s.merged + "'] .kin + .meta button")
	p.until(`[...document.querySelectorAll(".kin .head")].every(e => e.innerText.includes("live"))`)

	p.until(`[...document.querySelectorAll("#refs .num")].every(e => /^[0-9,]+$/.test(e.innerText))`)
	all := eval[int](p, `document.querySelectorAll("#entries article").length`)
	p.click("#entries a.tag[href*='tag=']")
	p.until(`document.querySelector("#filter input")?.value && document.querySelectorAll("#entries article").length > 0`)
	kept := eval[int](p, `document.querySelectorAll("#entries article").length`)
	assert.Less(t, kept, all, "those that carry the tag")
	tagged := eval[bool](p, `[...document.querySelectorAll("#entries article")].every(e => [...e.querySelectorAll(".tag")].some(t => t.innerText === document.querySelector("#filter input").value))`)
	assert.True(t, tagged)

	p.open("subject?subject=ann")
	about := p.sees("#about")
	assert.Contains(t, about, "Ann asked to be called in the morning")
	assert.Contains(t, about, "Ann takes calls", "what was derived")
	assert.Contains(t, about, "derived")
	assert.Contains(t, about, home)
	p.picture("subject-light")
	broken := eval[[]string](p, `[...document.querySelectorAll(".tag, .badge, h1, h2, h3, nav a, .dim span")].filter(e => e.getClientRects().length > 1 && !/[\s/:._-]/.test(e.innerText)).map(e => e.innerText)`)
	assert.Empty(t, broken, "words that are broken")

	p.open("ask?" + "ref=" + home + "&q=when+does+the+office+lease+end")
	offered := eval[int](p, `document.querySelectorAll("#known-refs option").length`)
	assert.Positive(t, offered, "the refs that there are")
	hits := p.sees("#hits")
	assert.Contains(t, hits, "The office lease ends")
	assert.Regexp(t, `score \d`, hits)
	assert.Contains(t, hits, "near in meaning 0.50")
	assert.Contains(t, p.sees("#hits mark"), "lease")
	assert.Equal(t, "office\nlease\nends", p.sees("#hits .meta strong ~ .tag"), "whole words, not their stems")
	p.picture("ask-light")

	p.open("runs?run=" + s.run + "&ref=" + home)
	p.wait("#view article")
	p.wait("#events li")
	view := p.sees("#view")
	assert.Contains(t, view, "seen, and there now")
	assert.Contains(t, view, "seen; since then merged")
	assert.Contains(t, view, "there now; the run did not see it")
	p.until(`[...document.querySelectorAll(".badge")].some(e => e.innerText === "live")`)
	s.finish()
	p.until(`document.getElementById("events").innerText.includes("run.completed")`)
	log := p.sees("#events")
	assert.Contains(t, log, "memory.written")
	assert.NotContains(t, log, "Ann", "events hold no word of an entry")
	p.picture("runs-light")

	p.open("commitments")
	line := p.sees("main")
	for _, want := range []string{"Waiting", "Over", "armed", "acknowledged", "lapsed", "every 24h0m0s", "when ticket.closed", "overdue", "source-gone", "fired 5 times", "Given up", "given-up", "tried 33 times for"} {
		assert.Contains(t, line, want)
	}
	p.picture("commitments-light")
	p.calm()
}

// The same tab with another token is another tenant: nothing of the first is left in it.
func TestPage_TokenSaysWhoseMemory(t *testing.T) {
	s := newSample(t)
	p := look(t, s.url(), 1280, "light")
	p.signIn("nobody's")
	p.wait(".notice.bad")
	assert.Contains(t, p.sees("main"), "does not know this token")
	p.signIn("b")
	p.open("memory?ref=" + home)
	assert.Contains(t, p.sees("#entries"), "Bob")
	assert.NotContains(t, p.sees("body"), "Ann")
	kept := eval[string](p, "JSON.stringify([localStorage.length, document.cookie, location.href.includes('=b')])")
	assert.Equal(t, `[0,"",false]`, kept)
	p.click("#who button")
	p.wait("input[name=token]")
	left := eval[int](p, "sessionStorage.length")
	assert.Zero(t, left)
	assert.NotContains(t, p.sees("body"), "Bob")
}

// Entries are hostile text. All of it is shown as text.
func TestPage_HostileText(t *testing.T) {
	s := newSample(t)
	p := look(t, s.url(), 360, "light")
	p.signIn("a")
	p.open("memory?ref=" + hostile)
	text := p.sees("#entries")
	for _, want := range []string{`<img src=x onerror="window.hit=1">`, `</script><script>window.hit=1</script>`, "U+202E", "U+0007"} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "\u202e")
	made := eval[int](p, `document.querySelectorAll("#entries img, #entries script, #entries b, #entries iframe").length`)
	scripts := eval[int](p, `document.scripts.length`)
	hit := eval[bool](p, `!!window.hit`)
	assert.Zero(t, made)
	assert.Equal(t, 1, scripts)
	assert.False(t, hit)
	p.fits("hostile text")
	p.click("#entries .link:not(.meta *)")
	p.wait(".text.all")
	length := eval[int](p, `document.querySelector(".text.all").textContent.length`)
	assert.Equal(t, 64<<10, length)
	p.fits("all of a long line")
	p.picture("hostile-phone")
	p.calm()
}

// Nothing runs but the page's own script, even if it got into the document.
func TestPage_PolicyHolds(t *testing.T) {
	p := look(t, newSample(t).url(), 800, "light")
	hit := eval[bool](p, `(() => { const s = document.createElement("script"); s.textContent = "window.hit = 1"; document.body.append(s); return !!window.hit; })()`)
	assert.False(t, hit)
}

func TestPage_PhoneAndDark(t *testing.T) {
	s := newSample(t)
	background := map[string]string{}
	for _, c := range []struct {
		name, scheme string
		width        int64
	}{{"phone", "light", 360}, {"dark", "dark", 1280}, {"phone-dark", "dark", 360}} {
		p := look(t, s.url(), c.width, c.scheme)
		p.fits("sign-in")
		p.signIn("a")
		for _, section := range []string{"overview", "memory?ref=" + home, "ask?ref=" + home + "&q=lease", "runs?ref=" + home + "&run=" + s.run, "commitments"} {
			p.open(section)
			if section == "overview" {
				p.wait("#agents article")
				p.wait("#plots figure")
			}
			name, _, _ := strings.Cut(section, "?")
			p.fits(c.name + " " + name)
			p.picture(name + "-" + c.name)
			assert.Empty(t, p.faint(), "%s %s: text that is hard to read", c.name, name)
		}
		colour := eval[string](p, "getComputedStyle(document.body).backgroundColor")
		background[c.scheme] = colour
		p.calm()
	}
	assert.NotEqual(t, background["light"], background["dark"])
}

// faint lists text whose contrast with what is behind it is under 4.5 to 1 (WCAG 2.2, 1.4.3).
func (p *person) faint() []string {
	p.t.Helper()
	return eval[[]string](p, `(() => {
		const rgb = c => c.match(/[\d.]+/g).map(Number);
		const light = c => rgb(c).slice(0, 3).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4).reduce((s, v, i) => s + v * [.2126, .7152, .0722][i], 0);
		const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (rgb(c)[3] !== 0) return c; } return "rgb(255,255,255)"; };
		const out = new Set();
		for (const e of document.querySelectorAll("body *")) {
			if (e.namespaceURI.endsWith("svg") || !e.checkVisibility() || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
			const a = light(getComputedStyle(e).color), b = light(behind(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
			if (ratio < 4.5) out.add(e.tagName + "." + e.className + " " + ratio.toFixed(2));
		}
		return [...out];
	})()`)
}

// The page can be used without a mouse: a person signs in, gets to every section by Tab and Enter, and
// always sees where the focus is.
func TestPage_Keyboard(t *testing.T) {
	p := look(t, newSample(t).url(), 1280, "light")
	p.signIn("a")
	p.open("overview")
	eval[any](p, "document.activeElement.blur()")
	var reached []string
	for range 12 {
		p.do(chromedp.KeyEvent("\t"))
		at := eval[struct{ Text, Outline string }](p, `({Text: document.activeElement.innerText, Outline: getComputedStyle(document.activeElement).outlineStyle})`)
		reached = append(reached, at.Text)
		assert.NotEqual(t, "none", at.Outline, "the focus on %q is not seen", at.Text)
		if at.Text == "Commitments" {
			break
		}
	}
	assert.Subset(t, reached, []string{"Skip to content", "Overview", "Memory", "Ask", "Runs", "Commitments"})
	p.do(chromedp.KeyEvent("\r"))
	p.wait("main[data-ready=commitments]")
	unnamed := eval[int](p, `[...document.querySelectorAll("input, button, svg[role=img]")].filter(e => !(e.labels?.length || e.innerText?.trim() || e.getAttribute("aria-label"))).length`)
	assert.Zero(t, unnamed, "controls without a name")
}

// The reference host serves the same page over its own file.
func TestPage_OfTheReferenceHost(t *testing.T) {
	chromium(t)
	program := filepath.Join(t.TempDir(), "host")
	built, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../../../examples/host", "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", built)
	host := exec.CommandContext(t.Context(), program, "-data", filepath.Join(t.TempDir(), "host.db"), "-token", "a", "-seams")
	out, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	defer func() { assert.NoError(t, host.Process.Signal(os.Interrupt)); assert.NoError(t, host.Wait()) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	url := strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	post := func(path, body string) {
		r, err := http.NewRequestWithContext(t.Context(), "POST", url+path, strings.NewReader(body))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer a")
		w, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		require.NoError(t, w.Body.Close())
		require.Less(t, w.StatusCode, 300, path)
	}
	post("/v1/runs", `{"workflowId":"conformance-agent-memory-roundtrip"}`)
	post("/v1/host/sample/memory/consolidate", `{"memoryRef":"mem://conformance/consolidation"}`)
	post("/v1/host/sample/commitment/fire", `{"memoryRef":"mem://conformance/consolidation","condition":"time"}`)

	p := look(t, url, 1280, "light")
	p.signIn("a")
	p.open("overview")
	p.wait("#agents article")
	p.wait("#plots figure")
	assert.Contains(t, p.sees("main"), "Has to do without: write")
	p.picture("host-overview")
	p.open("memory?ref=mem%3A%2F%2Fconformance%2Fconsolidation")
	p.click("#entries article:last-of-type .meta button")
	p.picture("host-memory")
	assert.Contains(t, p.sees("#entries"), "Ann likes green tea")
	p.open("runs")
	p.click("aside li:last-child a")
	p.until(`document.getElementById("events")?.innerText.includes("run.completed")`)
	p.wait("#view article")
	p.picture("host-runs")
	p.open("commitments")
	assert.Contains(t, p.sees("main"), "acknowledged")
	p.picture("host-commitments")
	p.calm()
}

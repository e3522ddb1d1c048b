// Package pagetest tests the inspector's page in a headless Chromium, as a person would. It is a
// module of its own, so that nothing else depends on what drives the browser.
//
// Without a Chromium its tests skip, unless AGENTMEMORY_REQUIRE_CHROMIUM is set. With
// AGENTMEMORY_SCREENSHOTS=DIR they leave pictures of the page there.
package pagetest

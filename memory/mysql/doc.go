// Package mysql keeps memory in MariaDB or MySQL.
package mysql
